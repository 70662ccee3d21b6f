// Run in one process, because loading the modules takes a process as long as the tests of a file.
import "../serving/answer-cache.test.ts";
import "../serving/kept.test.ts";
import "../serving/posts.test.ts";
import "../serving/reply.test.ts";
