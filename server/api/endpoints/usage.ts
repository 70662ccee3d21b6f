import * as v from "valibot";
import { endpoint } from "../endpoint.ts";
import { usageResponse } from "../responses.ts";

/** Answers what the caller's account has used. */

export const usage = endpoint({
  path: "/usage",
  name: "usage",
  summary: "What the caller's account has used of its month",
  kind: "service",
  parameters: v.object({}),
  response: usageResponse,
  errors: [],
  answer: (context) => context.usage(),
});
