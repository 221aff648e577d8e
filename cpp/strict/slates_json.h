// VW reads slates from JSON without looking whether a value is there and of the right kind: a wrong one is read as
// whatever lies in memory. Here it is refused by name.
#pragma once

namespace vw_fastcb
{
// `event` is well-formed JSON and ends with a zero.
void check_slates_json(const char* event, bool decision_service, bool chain_hash);
}  // namespace vw_fastcb
