// Reads a Dockerfile into stages and instructions: the part of the language that ours uses, and an error for the rest.

export interface Instruction {
  /** In upper case: `COPY`. */
  readonly keyword: string;
  /** What stands before the arguments as `--name=value`. */
  readonly flags: ReadonlyMap<string, string>;
  readonly text: string;
}

export interface Stage {
  readonly name: string;
  /** Image that it starts from, with arguments put in. */
  readonly base: string;
  readonly instructions: readonly Instruction[];
}

/** The stages of a Dockerfile, in their order. */
export function parseDockerfile(text: string): readonly Stage[] {
  const defaults = new Map<string, string>();
  const stages: { name: string; base: string; instructions: Instruction[] }[] = [];
  for (const line of logicalLines(text)) {
    const instruction = parseInstruction(line);
    const stage = stages.at(-1);
    if (instruction.keyword === 'FROM') {
      const [base = '', as = '', name = ''] = instruction.text.split(/\s+/);
      if (as.toUpperCase() !== 'AS' || name === '') throw new Error(`a stage without a name: ${line}`);
      stages.push({ name, base: putIn(base, defaults), instructions: [] });
    } else if (stage !== undefined) {
      stage.instructions.push(instruction);
    } else if (instruction.keyword === 'ARG') {
      const [name = '', value = ''] = instruction.text.split('=');
      defaults.set(name, value);
    } else {
      throw new Error(`before the first stage: ${line}`);
    }
  }
  return stages;
}

/** The list of an instruction in exec form, such as `["node", "x.js"]`; `undefined` for the shell form. */
export function findExecForm(text: string): readonly string[] | undefined {
  if (!text.startsWith('[')) return undefined;
  const list: unknown = JSON.parse(text);
  const isList = Array.isArray(list) && list.every((item) => typeof item === 'string');
  if (!isList) throw new Error(`not a list of texts: ${text}`);
  return list;
}

/** The pairs of an `ENV` or `LABEL`. */
export function parsePairs(text: string): ReadonlyMap<string, string> {
  const pairs = [...text.matchAll(/([\w.]+)=(?:"([^"]*)"|(\S+))(?:\s+|$)/g)];
  if (pairs.map(([pair]) => pair).join('') !== text) throw new Error(`not a list of name=value: ${text}`);
  return new Map(pairs.map(([, name = '', quoted, plain]) => [name, quoted ?? plain ?? '']));
}

/** Lines without comments, continued ones joined. */
function logicalLines(text: string): readonly string[] {
  return text
    .split('\n')
    .filter((line) => !/^\s*#/.test(line))
    .join('\n')
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');
}

function parseInstruction(line: string): Instruction {
  const [, keyword = '', flags = '', text = ''] = /^([A-Za-z]+)\s+((?:--\S+\s+)*)(.*)$/.exec(line) ?? [];
  if (keyword === '') throw new Error(`not an instruction: ${line}`);
  const pairs = [...flags.matchAll(/--([a-z-]+)=(\S+)/g)].map(([, name = '', value = '']) => [name, value] as const);
  return { keyword: keyword.toUpperCase(), flags: new Map(pairs), text };
}

function putIn(text: string, values: ReadonlyMap<string, string>): string {
  return text.replaceAll(/\$\{(\w+)\}/g, (_, name: string) => {
    const value = values.get(name);
    if (value === undefined) throw new Error(`the argument ${name} has no default`);
    return value;
  });
}
