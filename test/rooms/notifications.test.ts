// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../parts/notifications/addresses.test.ts";
import "../parts/notifications/mail.test.ts";
import "../parts/notifications/webhook-slots.test.ts";
import "../parts/notifications/webhooks.test.ts";
