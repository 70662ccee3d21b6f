// Runs these test files in the same process, because loading the modules takes as long as the tests of a file. Test
// files that start a server aren't here, because the tests here would delay the server's start.
import "../control/descriptors.test.ts";
import "../control/heap.test.ts";
import "../control/log.test.ts";
import "../control/log-lines.test.ts";
import "../control/npm.test.ts";
import "../control/ops.test.ts";
import "../control/safely.test.ts";
import "../control/settings.test.ts";
import "../control/start.test.ts";
import "../control/strip-cache.test.ts";
import "../control/traffic.test.ts";
