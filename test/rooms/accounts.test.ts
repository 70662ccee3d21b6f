// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../accounts/clock.test.ts";
import "../accounts/days.test.ts";
import "../accounts/events.test.ts";
import "../accounts/lifecycle.test.ts";
import "../accounts/limits.test.ts";
import "../accounts/limits-memory.test.ts";
import "../accounts/quota-events.test.ts";
