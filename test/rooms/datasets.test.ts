// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../datasets/addendum.test.ts";
import "../datasets/fetch.test.ts";
import "../datasets/import-codes.test.ts";
import "../datasets/import-command.test.ts";
import "../datasets/import-errors.test.ts";
import "../datasets/import.test.ts";
import "../datasets/other-tools.test.ts";
import "../datasets/places.test.ts";
import "../datasets/revisions.test.ts";
import "../datasets/sample.test.ts";
import "../datasets/totals.test.ts";
