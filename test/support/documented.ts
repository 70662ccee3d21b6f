import { checkAnswer, openapiDocument } from "./answers.ts";
import { call } from "./server.ts";

/** Answers of the HTTP parser aren't checked. */
export async function callDocumented(...asked: Parameters<typeof call>): ReturnType<typeof call> {
  const answer = await call(...asked);
  const [, request] = asked;
  const body = request.startsWith("HEAD ") ? undefined : answer.body;
  if (answer.header("X-RateLimit-Remaining") !== undefined)
    checkAnswer(
      openapiDocument,
      request.slice(request.indexOf(" ") + 1),
      answer.status,
      body,
      answer.headers,
    );
  return answer;
}
