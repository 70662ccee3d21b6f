// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
// These set timers, which servers that begin in the room of control need.
import "../control/output.test.ts";
import "../control/running.test.ts";
import "../control/serving-threads.test.ts";
import "../serving/access-log.test.ts";
import "../serving/answer-cache.test.ts";
import "../serving/ceiling-errors.test.ts";
import "../serving/client-address.test.ts";
import "../serving/heads.test.ts";
import "../serving/kept.test.ts";
import "../serving/page-orders.test.ts";
import "../serving/permit-queue.test.ts";
import "../serving/permit-waits.test.ts";
import "../serving/pieces.test.ts";
import "../serving/posts.test.ts";
import "../serving/reply.test.ts";
import "../serving/shares.test.ts";
import "../serving/turns.test.ts";
import "../serving/usage.test.ts";
import "../serving/waiting.test.ts";
import "../serving/warm.test.ts";
