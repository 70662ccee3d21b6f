// Runs these test files in the same process, because loading the modules takes as long as the tests of a file. Test
// files that start a server aren't here, because the tests here would delay the server's start.
import "../accounts/clock.test.ts";
import "../accounts/days.test.ts";
import "../accounts/events.test.ts";
import "../accounts/lifecycle.test.ts";
import "../accounts/limits.test.ts";
import "../accounts/limits-memory.test.ts";
import "../accounts/quota-events.test.ts";
