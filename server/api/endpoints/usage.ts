import * as v from "valibot";
import { endpoint } from "../endpoint.ts";
import { usageResponse } from "../responses.ts";

export const usage = endpoint({
  path: "/usage",
  name: "usage",
  summary: "What the caller's account has used of its month's requests",
  description:
    "Shows the limits of the key's account, and how many requests it has made this month, in all and by day. This request is " +
    "included.",
  returns: "The account, its limits and its usage.",
  kind: "service",
  parameters: v.object({}),
  response: usageResponse,
  answer: (context) => context.usage(),
});
