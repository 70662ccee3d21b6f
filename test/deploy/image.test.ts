import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { parse } from "yaml";
import { configure } from "../../server/part.ts";
import { parts } from "../../server/parts.ts";
import { coreSettings, readSettings, settingsHelp } from "../../server/shared/settings.ts";
import {
  buildContext,
  buildStage,
  deployFile,
  finalStage,
  head,
  image,
  repository,
  wordsOf,
} from "../support/deployment.ts";
import { readmeBlock, tracked } from "../support/readme.ts";

/** Tests that the Dockerfile and the compose files agree with the server's settings. */

const settingsNames = [
  ...settingsHelp([coreSettings, ...parts.map((part) => part.settings)]).matchAll(/^ {2}([A-Z_]+) /gm),
].map(([, name]) => name);
const compose = parse(deployFile("compose.yaml"));
const { api, proxy } = compose.services;
const inRepository = (path: string) => existsSync(join(repository, path));
const program = JSON.parse(readFileSync(join(repository, "package.json"), "utf8")).bin.hcqs;

test("both stages of the Dockerfile use one base image, pinned by its digest", () => {
  assert.equal(head.length, 1);
  assert.match(head[0].words, /^DEBIAN=debian:12-slim@sha256:[0-9a-f]{64}$/);
  assert.deepEqual(
    [buildStage, finalStage].map(([{ words }]) => words),
    ["$DEBIAN AS build", "$DEBIAN"],
  );
});

test("the Dockerfile's environment variables are valid server settings", () => {
  assert.deepEqual(
    Object.keys(image.env).filter((name) => !settingsNames.includes(name)),
    [],
  );
  const settings = readSettings(image.env);
  assert.ok(!Array.isArray(settings), String(settings));
  assert.equal(settings.HOST, "0.0.0.0");
  // With these settings, a container makes no demo account and no sample, and nobody can sign up.
  assert.deepEqual([settings.isTrial, settings.isDefaultDatasetsDir], [false, false]);
  assert.deepEqual(wordsOf(finalStage, "EXPOSE"), [String(settings.PORT)]);
  assert.deepEqual(image.volumes, [settings.DATASETS_DIR, settings.STATE_DIR]);
});

test("the image runs hcqs as an unprivileged user that owns its volumes", () => {
  const [, to] = /^\/opt\/hcqs (.*)$/.exec(wordsOf(finalStage, "COPY")[0].replace("--from=build ", "")) ?? [];
  assert.equal(wordsOf(buildStage, "WORKDIR")[0], to);
  const [install, link] = wordsOf(finalStage, "RUN");
  assert.equal(link, `ln -s ${to}/${program} /usr/local/bin/hcqs`);
  assert.deepEqual([...image.entrypoint, ...image.command], ["hcqs", "start"]);
  assert.match(image.user, /^[1-9]\d{4,}:[1-9]\d{4,}$/);
  const [owner, group] = image.user.split(":");
  assert.equal(install, `install --directory --owner=${owner} --group=${group} ${image.volumes.join(" ")}`);
  assert.equal(image.healthcheck[0], `${to}/server/node`);
});

test("npm runs no install scripts, and no production package needs one", () => {
  assert.match(readFileSync(join(repository, ".npmrc"), "utf8"), /^ignore-scripts=true$/m);
  const { packages } = JSON.parse(readFileSync(join(repository, "package-lock.json"), "utf8"));
  const names = Object.keys(packages).filter(
    (name) => packages[name].hasInstallScript && !packages[name].dev,
  );
  // The script of esbuild only makes its command start faster. Its program is a package of its own, without a script.
  assert.deepEqual(names, ["node_modules/esbuild"]);
  for (const machine of ["x64", "arm64"])
    assert.equal(packages[`node_modules/node-linux-${machine}`].cpu, machine);
});

test("the build context has only the programs and npm's files", () => {
  const programs = tracked.filter(
    (path) =>
      /^(?:datasets|engine|server)\//.test(path) &&
      !/^server\/(?:deploy|monitoring)\/|\.md$|tsconfig\.json$/.test(path),
  );
  const others = [".npmrc", "LICENSE", "package-lock.json", "package.json"];
  assert.deepEqual(buildContext().sort(), [...programs, ...others].sort());
});

test("the compose file uses valid settings and the image's ports and volumes", () => {
  assert.ok(inRepository(join("server/deploy", api.build.context, api.build.dockerfile)));
  assert.deepEqual(
    Object.keys(api.environment).filter((name) => !settingsNames.includes(name)),
    [],
  );
  const settings = readSettings({ ...image.env, ...api.environment });
  assert.ok(!Array.isArray(settings), String(settings));
  assert.deepEqual(api.ports, [`127.0.0.1:${settings.OPS_PORT}:${settings.OPS_PORT}`]);
  assert.equal(settings.OPS_HOST, "0.0.0.0");
  assert.equal(settings.TRUSTED_PROXIES, 1);
  assert.deepEqual(
    api.volumes.map((volume: string) => volume.split(":")),
    image.volumes.map((path, i) => [Object.keys(compose.volumes)[i], path]),
  );
  assert.deepEqual([api.read_only, proxy.read_only, api.cap_drop], [true, true, ["ALL"]]);
});

test("the compose file's proxy uses the README's nginx configuration", () => {
  const [[file, to]] = proxy.volumes.map((volume: string) => volume.split(":"));
  assert.equal(to, "/etc/nginx/conf.d/default.conf");
  assert.equal(deployFile(file), readmeBlock("nginx", { "127.0.0.1:8080": `api:${image.env.PORT}` }));
  assert.deepEqual(proxy.ports, ["80:80"]);
});

test("compared with the one-server compose file, the one for several servers adds only PostgreSQL and a state per server", () => {
  const { "x-api": shared, services, volumes } = parse(deployFile("compose.replicas.yaml"), { merge: true });
  const { "api-1": one, "api-2": other, postgres, proxy: inFront } = services;
  const { DATABASE_URL, ...environment } = shared.environment;
  const { depends_on: awaited, ...alike } = { ...shared, environment };
  const { ports, volumes: folders, ...alone } = api;
  assert.deepEqual(alike, alone);
  assert.deepEqual(awaited, ["postgres"]);
  const settings = configure(parts, { ...image.env, ...shared.environment });
  assert.ok(!Array.isArray(settings), String(settings));
  assert.ok(settings.parts.some(({ shareState }) => shareState !== undefined));
  assert.equal(DATABASE_URL, "postgres://hcqs@postgres/hcqs");
  for (const [i, server] of [one, other].entries()) {
    assert.deepEqual(server.ports, [ports[0].replace("9090", String(9091 + i))]);
    assert.deepEqual(server.volumes, [folders[0], folders[1].replace("state", `state-${i + 1}`)]);
  }
  assert.deepEqual(Object.keys(volumes), ["datasets", "state-1", "state-2", "postgres"]);
  assert.equal(postgres.ports, undefined);
  assert.deepEqual([postgres.read_only, inFront.read_only], [true, true]);
  assert.deepEqual(Object.keys(inFront.depends_on), ["api-1", "api-2"]);
  assert.deepEqual(inFront.ports, proxy.ports);
});

test("compared with the one-server proxy, the one for several servers adds only failover", () => {
  const [several, single] = ["nginx.replicas.conf", "nginx.conf"].map(deployFile);
  const lines = (text: string) => text.split("\n").filter((line) => !/^ *#|^ *server [\w-]+:/.test(line));
  const more = lines(several).filter((line) => !lines(single).includes(line));
  assert.deepEqual(
    lines(several).filter((line) => !more.includes(line)),
    lines(single),
  );
  assert.deepEqual(
    more.map((line) => line.trim()),
    ["proxy_next_upstream error timeout;", "proxy_connect_timeout 1s;"],
  );
  const upstreams = [...several.matchAll(/^ {2}server ([\w-]+):(\d+) /gm)].map(([, name, to]) => [name, to]);
  assert.deepEqual(upstreams, [
    ["api-1", image.env.PORT],
    ["api-2", image.env.PORT],
  ]);
});

test("commands in the compose files' comments exist", () => {
  const typed = ["compose.yaml", "compose.replicas.yaml"].flatMap((file) =>
    [...deployFile(file).matchAll(/ api(?:-1)? (?:hcqs )?([a-z]+) /g)].map(([, word]) => word),
  );
  assert.deepEqual(typed, ["import", "keys", "import", "keys"]);
  const help = execFileSync(join(repository, program), ["--help"], { encoding: "utf8" });
  for (const word of typed) assert.match(help, new RegExp(`^ {2}${word} `, "m"));
  assert.ok((statSync(join(repository, program)).mode & 0o111) === 0o111);
});
