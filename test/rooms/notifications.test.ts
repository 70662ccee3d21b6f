// Runs these test files in one process, because loading the modules takes as long as the tests of one file.
import "../support/mapped.ts";
import "../parts/notifications/addresses.test.ts";
import "../parts/notifications/mail.test.ts";
import "../parts/notifications/webhook-slots.test.ts";
import "../parts/notifications/webhooks.test.ts";
