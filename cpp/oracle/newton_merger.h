// What several second-order learners know, put together as if one had seen all their events.
#pragma once

#include "newton_knowledge.h"

#include <vector>

namespace vw_fastcb
{
// Each of them may have started from `base`, which may be null: what that one knew counts once. Knowledge is added up
// as information (the inverse of the covariance), after each learner's standardised columns were translated to those of
// the merged one. Columns that have only a variance are merged one by one, and so are weights outside the block. Where
// a feature is in the block of one learner and outside that of another, it is in the block of the merged one.
class newton_merger
{
public:
  static newton_knowledge merged(
      const std::vector<const newton_knowledge*>& models, const newton_knowledge* base, const table_layout& layout);

private:
  // How the columns of one learner appear among those of the merged one.
  struct translation
  {
    const newton_block* from;
    const newton_block* base;  // what it knows of this one is left out, if it is not null
    const rest_weights* rest;
    const rest_weights* rest_of_base;
    std::vector<size_t> columns;  // of the merged one, for each of `from`
  };

  static void merge_columns(newton_block& to, std::vector<translation>& parts);
  static void merge_moments(newton_block& to, const std::vector<translation>& parts);
  static void merge_slot(
      newton_block& to, const std::vector<translation>& parts, size_t slot, const table_layout& layout);

  class matrix;
  static matrix inverse(matrix positive);
  static matrix information_of(const newton_weights& known);

  // What is known of a slot: the precision of its weights, and precision times weight.
  struct information;
  struct gained;
  static void add_information(
      const translation& part, const newton_block& to, size_t slot, const table_layout& layout, information& known);
  static matrix add_columns_alone(const translation& part, const newton_block& to, gained& own, information& merged);
  static void add_columns_together(const translation& part, const gained& own, const matrix& r, information& merged);
  static void add_rest(const translation& part, const newton_block& to, size_t slot, const table_layout& layout,
      information& known, double& intercept, double& intercept_before);
  static rest_weights merge_rest(
      const newton_block& to, const std::vector<translation>& parts, const table_layout& layout);
};
}  // namespace vw_fastcb
