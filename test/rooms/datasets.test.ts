// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../datasets/addendum.test.ts";
import "../datasets/fetch.test.ts";
import "../datasets/import.test.ts";
import "../datasets/import-codes.test.ts";
import "../datasets/import-command.test.ts";
import "../datasets/import-errors.test.ts";
import "../datasets/publish.test.ts";
import "../datasets/publish-folder.test.ts";
