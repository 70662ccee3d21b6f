// Run in one process, because loading the modules takes a process as long as the tests of a file. Files that start a
// server for all of their tests run alone: it would start while the other tests leave this process no turns.
import "../serving/answer-cache.test.ts";
import "../serving/kept.test.ts";
import "../serving/posts.test.ts";
import "../serving/reply.test.ts";
