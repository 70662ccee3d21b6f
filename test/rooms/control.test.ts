// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../control/connections.test.ts";
import "../control/heap.test.ts";
import "../control/log-lines.test.ts";
import "../control/metrics-text.test.ts";
import "../control/ops.test.ts";
import "../control/port.test.ts";
import "../control/priority.test.ts";
import "../control/running.test.ts";
import "../control/safely.test.ts";
import "../control/settings.test.ts";
import "../control/state.test.ts";
import "../control/strip-cache.test.ts";
import "../control/traffic.test.ts";
import "../control/work-budget.test.ts";
import "../parts/console/console.test.ts";
import "../parts/console/history.test.ts";
