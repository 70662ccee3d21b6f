// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../parts/postgres/alone.test.ts";
import "../parts/postgres/contact.test.ts";
import "../parts/postgres/counts.test.ts";
import "../parts/postgres/directory.test.ts";
import "../parts/postgres/permits.test.ts";
import "../parts/postgres/schema.test.ts";
import "../parts/postgres/shared-state.test.ts";
import "../parts/postgres/turns.test.ts";
import "../parts/postgres/url.test.ts";
