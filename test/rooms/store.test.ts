// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../store/future.test.ts";
import "../store/registry.test.ts";
import "../store/schema.test.ts";
import "../store/state.test.ts";
import "../store/tables.test.ts";
