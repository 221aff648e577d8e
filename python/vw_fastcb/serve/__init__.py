"""A loop over HTTP: `fastcb serve`. It needs the extra `serve`; the rest of the package does not.

From the bottom up: `errors` are what clients are told; `messages` are the bodies of requests and answers, typed;
`commits` hands requests from the event loop to the thread that commits them; `endpoints` and `personalizer` answer;
`openapi` describes them; `gate` stands before all of them (token, limits, metrics, log); `connections` keeps slow and
greedy clients in bounds; `server` starts and stops.
"""
