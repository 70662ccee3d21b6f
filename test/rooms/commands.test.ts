// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../commands/accounts.test.ts";
import "../commands/errors.test.ts";
import "../commands/events.test.ts";
import "../commands/hcqs.test.ts";
import "../commands/keys.test.ts";
import "../commands/program.test.ts";
import "../commands/state.test.ts";
import "../commands/transfer.test.ts";
