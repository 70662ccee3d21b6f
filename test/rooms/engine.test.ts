// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../engine/arrange.test.ts";
import "../engine/changes.test.ts";
import "../engine/codes.test.ts";
import "../engine/errors.test.ts";
import "../engine/exports.test.ts";
import "../engine/facility-page.test.ts";
import "../engine/image.test.ts";
import "../engine/near.test.ts";
import "../engine/prices.test.ts";
import "../engine/search.test.ts";
import "../engine/search-literal.test.ts";
import "../engine/search-questions.test.ts";
import "../engine/search-texts.test.ts";
import "../engine/snapshot.test.ts";
import "../engine/sort.test.ts";
