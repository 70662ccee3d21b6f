// In one process, because loading the modules takes as long as the tests of a file. Files with a server of their own run
// alone: the other tests here would block its start.
import "../datasets/addendum.test.ts";
import "../datasets/fetch.test.ts";
import "../datasets/import.test.ts";
import "../datasets/import-codes.test.ts";
import "../datasets/import-command.test.ts";
import "../datasets/import-errors.test.ts";
import "../datasets/publish.test.ts";
import "../datasets/publish-folder.test.ts";
