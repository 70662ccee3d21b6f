// In one process, because loading the modules takes as long as the tests of a file. Files with a server of their own run
// alone: the other tests here would block its start.
import "../accounts/clock.test.ts";
import "../accounts/days.test.ts";
import "../accounts/events.test.ts";
import "../accounts/lifecycle.test.ts";
import "../accounts/limits.test.ts";
import "../accounts/limits-memory.test.ts";
import "../accounts/quota-events.test.ts";
