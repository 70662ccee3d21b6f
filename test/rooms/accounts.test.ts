// Run in one process, because loading the modules takes a process as long as the tests of a file.
import "../accounts/clock.test.ts";
import "../accounts/days.test.ts";
import "../accounts/events.test.ts";
import "../accounts/keys.test.ts";
import "../accounts/lifecycle.test.ts";
import "../accounts/limits.test.ts";
import "../accounts/limits-memory.test.ts";
import "../accounts/quota-events.test.ts";
