// In one process, because loading the modules takes as long as the tests of a file. Files with a server of their own run
// alone: the other tests here would block its start.
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
