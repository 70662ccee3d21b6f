import * as v from "valibot";
import { endpoint } from "../endpoint.ts";
import { usageShape } from "../responses.ts";

export const usage = endpoint({
  path: "/usage",
  name: "usage",
  summary: "What the caller's account has used of its month",
  kind: "service",
  parameters: v.object({}),
  response: usageShape,
  errors: [],
  answer: (context) => context.usage(),
});
