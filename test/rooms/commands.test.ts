// Runs these test files in the same process, because loading the modules takes as long as the tests of a file. Test
// files that start a server aren't here, because the tests here would delay the server's start.
import "../commands/accounts.test.ts";
import "../commands/errors.test.ts";
import "../commands/events.test.ts";
import "../commands/hcqs.test.ts";
import "../commands/keys.test.ts";
import "../commands/state.test.ts";
import "../commands/transfer.test.ts";
