// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../accounts/address-shares.test.ts";
import "../accounts/clock.test.ts";
import "../accounts/days.test.ts";
import "../accounts/events.test.ts";
import "../accounts/keys.test.ts";
import "../accounts/lifecycle.test.ts";
import "../accounts/limits.test.ts";
import "../accounts/limits-memory.test.ts";
import "../accounts/permit-table.test.ts";
import "../accounts/quota-events.test.ts";
import "../accounts/transfer.test.ts";
