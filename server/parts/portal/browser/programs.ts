import { base } from "./answers.ts";

/** Writes programs that request the API, for visitors to copy. */

export const curlOf = (path: string, origin: string, key = "$KEY") =>
  `curl -H "Authorization: Bearer ${key}" \\\n  "${origin}${path}"`;

/** Functions by language that write the code of a request. The path is an API path with its query. */
export const requests = {
  curl: curlOf,
  Python: (path: string, origin: string) =>
    [
      "import json, os, urllib.error, urllib.request",
      `url = "${origin}${path}"`,
      `headers = {"Authorization": "Bearer " + os.environ["KEY"]}`,
      "try:",
      "    with urllib.request.urlopen(urllib.request.Request(url, headers=headers)) as response:",
      isFile(path)
        ? `        open("${fileOf(path)}", "wb").write(response.read())`
        : "        answer = json.load(response)",
      "except urllib.error.HTTPError as failed:",
      `    raise SystemExit(f"{failed.code} {failed.read().decode()}")`,
    ].join("\n"),
  TypeScript: (path: string, origin: string) =>
    [
      `const response = await fetch("${origin}${path}", {`,
      `  headers: { Authorization: "Bearer " + process.env.KEY },`,
      "});",
      `if (!response.ok) throw new Error(\`\${response.status} \${await response.text()}\`);`,
      `const answer = await response.${isFile(path) ? "arrayBuffer" : "json"}();`,
    ].join("\n"),
};

/** Python that prints all rows of a list, page by page, and backs off as the API asks. */
export const loopOf = (
  procedure: string,
  origin: string,
) => `import json, os, random, time, urllib.error, urllib.request

def get(path):
    headers = {"Authorization": "Bearer " + os.environ["KEY"]}
    request = urllib.request.Request("${origin}" + path, headers=headers)
    for attempt in range(5):
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return json.load(response)
        except urllib.error.HTTPError as failed:
            wait = max(int(failed.headers.get("Retry-After", 0)), 2**attempt) + random.random()
            if failed.code < 429 or attempt == 4 or wait > 60:
                raise SystemExit(f"{failed.code} {failed.read().decode()}")
            time.sleep(wait)

def rows(path):
    while path is not None:
        page = get(path)
        yield from page["data"]
        path = page["next"]

for row in rows("${base}/healthcare/prices?procedure=${procedure}"):
    print(row["ccn"], row["submitted_charge"])`;

const isFile = (path: string) => /\/export\.\w+/.test(path);
const fileOf = (path: string) => path.split("?", 1)[0].split("/").at(-1);
