// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../api/codes.test.ts";
import "../api/distribution.test.ts";
import "../api/endpoints.test.ts";
import "../api/examples.test.ts";
import "../api/facilities.test.ts";
import "../api/not-found.test.ts";
import "../api/openapi.test.ts";
import "../api/oracles.test.ts";
import "../api/paging.test.ts";
import "../api/parameters.test.ts";
import "../api/price-key.test.ts";
import "../api/search.test.ts";
import "../api/trends.test.ts";
