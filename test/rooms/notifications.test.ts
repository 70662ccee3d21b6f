// In one process, because loading the modules takes as long as the tests of a file. Files with a server of their own run
// alone: the other tests here would block its start.
import "../parts/notifications/addresses.test.ts";
import "../parts/notifications/mail.test.ts";
import "../parts/notifications/webhook-slots.test.ts";
import "../parts/notifications/webhooks.test.ts";
