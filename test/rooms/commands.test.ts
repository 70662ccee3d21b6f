// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../commands/accounts.test.ts";
import "../commands/events.test.ts";
import "../commands/hcqs.test.ts";
import "../commands/keys.test.ts";
import "../commands/state.test.ts";
