// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../api/approved-answers.test.ts";
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
import "../api/verify.test.ts";
