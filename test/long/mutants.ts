import { readFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import * as ts from "typescript/unstable/ast";
import { API } from "typescript/unstable/sync";

/** Makes mutants of TypeScript by its syntax tree and of Lua by patterns, and finds the files that each file runs. */

export interface Mutant {
  file: string;
  line: number;
  /** The file and its line with ⟦old code → new code⟧. The name stays the same as long as the line does. */
  name: string;
  source: string;
}

const { SyntaxKind } = ts;

const operators: ReadonlyMap<ts.SyntaxKind, string> = new Map([
  [SyntaxKind.LessThanToken, "<="],
  [SyntaxKind.LessThanEqualsToken, "<"],
  [SyntaxKind.GreaterThanToken, ">="],
  [SyntaxKind.GreaterThanEqualsToken, ">"],
  [SyntaxKind.EqualsEqualsEqualsToken, "!=="],
  [SyntaxKind.ExclamationEqualsEqualsToken, "==="],
  [SyntaxKind.AmpersandAmpersandToken, "||"],
  [SyntaxKind.BarBarToken, "&&"],
  [SyntaxKind.PlusToken, "-"],
  [SyntaxKind.MinusToken, "+"],
  [SyntaxKind.AsteriskToken, "/"],
  [SyntaxKind.SlashToken, "*"],
  [SyntaxKind.PercentToken, "*"],
  [SyntaxKind.AmpersandToken, "|"],
  [SyntaxKind.BarToken, "&"],
  [SyntaxKind.LessThanLessThanToken, ">>"],
  [SyntaxKind.GreaterThanGreaterThanToken, "<<"],
  [SyntaxKind.GreaterThanGreaterThanGreaterThanToken, "<<"],
  [SyntaxKind.PlusEqualsToken, "-="],
  [SyntaxKind.MinusEqualsToken, "+="],
  [SyntaxKind.BarEqualsToken, "&="],
]);

interface Change {
  start: number;
  end: number;
  instead: string;
}

const replaced = (node: ts.Node, instead: string): Change => ({
  start: node.getStart(),
  end: node.end,
  instead,
});
const removed = (start: number, end: number): Change => ({ start, end, instead: "" });
const negated = (condition: ts.Node) => replaced(condition, `!(${condition.getText()})`);

/** Lists the changes of a node, without the changes of its children. */
function changesOf(node: ts.Node): Change[] {
  if (ts.isBinaryExpression(node)) {
    const { left, operatorToken, right } = node;
    if (operatorToken.kind === SyntaxKind.QuestionQuestionToken) return [removed(left.end, right.end)];
    const instead = isText(node) ? undefined : operators.get(operatorToken.kind);
    return instead === undefined ? [] : [replaced(operatorToken, instead)];
  }
  if (ts.isNumericLiteral(node) || ts.isBigIntLiteral(node))
    return numbersBeside(node.getText()).map((number) => replaced(node, number));
  if (node.kind === SyntaxKind.TrueKeyword) return [replaced(node, "false")];
  if (node.kind === SyntaxKind.FalseKeyword) return [replaced(node, "true")];
  if (ts.isIfStatement(node)) return [negated(node.expression)];
  if (ts.isConditionalExpression(node)) return [negated(node.condition)];
  if (ts.isArrayLiteralExpression(node)) {
    const { elements } = node;
    return elements.map((element, i) =>
      i > 0
        ? removed(elements[i - 1].end, element.end)
        : removed(element.getStart(), elements[1]?.getStart() ?? element.end),
    );
  }
  if (ts.isExpressionStatement(node) && !node.getText().startsWith("super(")) return [replaced(node, ";")];
  return [];
}

/** Returns the numbers that are one less and one more than a literal. */
function numbersBeside(literal: string): string[] {
  const digits = literal.replaceAll("_", "").replace(/n$/, "");
  const numbers = [-1, 1].map((by) =>
    literal.endsWith("n") ? `${BigInt(digits) + BigInt(by)}n` : `${Number(digits) + by}`,
  );
  return numbers.map((number) => (number.startsWith("-") ? `(${number})` : number));
}

function isText(node: ts.Node): boolean {
  if (ts.isBinaryExpression(node)) return isText(node.left) || isText(node.right);
  return ts.isStringLiteral(node) || ts.isTemplateExpression(node);
}

/** Changes of Lua code: comparisons, logic, sums, whole numbers, conditions and call statements. */
const luaChanges: readonly [pattern: RegExp, instead: (found: string) => string[]][] = [
  [/(?<=[\w)\]] )(?:<=|>=|==|~=|<|>)(?= )/g, (found) => [luaOperators[found]]],
  [/(?<= )(?:and|or)(?= )/g, (found) => [found === "and" ? "or" : "and"]],
  [/(?<=[\w)\]] )[+-](?= )/g, (found) => [found === "+" ? "-" : "+"]],
  [/(?<![\w.'"{])\d+(?![\w.}])/g, numbersBeside],
  [/(?<=\bif ).+(?= then$)/gm, (found) => [`not (${found})`]],
  [/^ *call\(.*\)$/gm, () => ["do end"]],
];
const luaOperators: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "==": "~=",
  "~=": "==",
};

function luaMutantsOf(root: string, file: string): Mutant[] {
  const text = readFileSync(join(root, file), "utf8");
  // Spaces in place of comments keep positions the same.
  const code = text.replace(/--\[\[[\s\S]*?\]\]|--.*$/gm, (comment) => " ".repeat(comment.length));
  return luaChanges.flatMap(([pattern, insteadOf]) =>
    Array.from(code.matchAll(pattern)).flatMap(({ 0: found, index: start }) =>
      insteadOf(found).map((instead) => mutantOf(file, text, { start, end: start + found.length, instead })),
    ),
  );
}

/** @param files paths from `root` */
export function mutantsOf(root: string, files: readonly string[]): Mutant[] {
  const isOf = (file: string, kind: "browser" | "lua") =>
    kind === "lua" ? file.endsWith(".lua") : file.includes("/browser/");
  const scripts = files.filter((file) => isOf(file, "lua"));
  const browser = files.filter((file) => isOf(file, "browser"));
  const others = files.filter((file) => !scripts.includes(file) && !browser.includes(file));
  return [
    ...treeMutantsOf(root, "tsconfig.json", others),
    ...treeMutantsOf(root, "server/shared/browser/tsconfig.json", browser),
    ...scripts.flatMap((file) => luaMutantsOf(root, file)),
  ];
}

function treeMutantsOf(root: string, configuration: string, files: readonly string[]): Mutant[] {
  const api = new API({ cwd: root });
  try {
    const [project] = api.updateSnapshot({ openProject: join(root, configuration) }).getProjects();
    return files.flatMap((file) => {
      const tree = project.program.getSourceFile(join(root, file));
      if (tree === undefined) throw new Error(`${file} is no part of ${project.configFileName}`);
      const mutants: Mutant[] = [];
      const visit = (node: ts.Node): void => {
        // Types are stripped before the code runs.
        if (ts.isTypeNode(node) || ts.isInterfaceDeclaration(node) || ts.isTypeAliasDeclaration(node)) return;
        for (const change of changesOf(node)) mutants.push(mutantOf(file, tree.text, change));
        node.forEachChild(visit);
      };
      visit(tree);
      return mutants;
    });
  } finally {
    api.close();
  }
}

function mutantOf(file: string, text: string, { start, end, instead }: Change): Mutant {
  const lineStart = text.lastIndexOf("\n", start - 1) + 1;
  const lineEnd = text.indexOf("\n", end);
  const marked = `${text.slice(lineStart, start)}⟦${text.slice(start, end)} → ${instead}⟧${text.slice(end, lineEnd)}`;
  return {
    file,
    line: text.slice(0, start).split("\n").length,
    name: `${file}: ${marked.replace(/\s+/g, " ").trim()}`,
    source: text.slice(0, start) + instead + text.slice(end),
  };
}

/** For each file, finds the files that it imports or starts, and the files of the folders that it names. */
export function importsOf(root: string, files: readonly string[]): Map<string, string[]> {
  return new Map(
    files.map((file) => {
      const source = readFileSync(join(root, file), "utf8").replace(/^import type [^;]*;/gm, "");
      const paths = [...source.matchAll(/["'`]([.\w/-]+)["'`]/g)].map(([, path]) =>
        path.startsWith(".") ? resolve("/", dirname(file), path).slice(1) : path.replace(/\/$/, ""),
      );
      const run = files.filter((other) =>
        paths.some((path) => path === other || (path.includes("/") && other.startsWith(`${path}/`))),
      );
      return [file, run];
    }),
  );
}

/** Counts the imports on the shortest way from `file` to each file that it reaches. */
export function distancesFrom(file: string, imports: ReadonlyMap<string, string[]>): Map<string, number> {
  const distances = new Map([[file, 0]]);
  for (const [from, distance] of distances)
    for (const to of imports.get(from) ?? []) if (!distances.has(to)) distances.set(to, distance + 1);
  return distances;
}
