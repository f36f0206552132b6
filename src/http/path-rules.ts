// The rules of the parts of a path that clients choose. Each part of each path has one, and is checked here, once, before
// anything else sees it.
import type { Issue } from '../core/errors.ts';
import type { IdRule, ObjectId, PathIds } from '../core/objects/object-id.ts';
import type { PathParameters } from '../engine/context.ts';
import type { Endpoint, ParameterRule } from '../engine/endpoint.ts';
import { refusedId } from '../engine/scope.ts';

/** The id rule of a kind, by the name of its id in paths: `bucket_id`. */
export type IdRules = ReadonlyMap<string, IdRule>;

/** What a path names, as far as its rules accept it. */
export interface PathNames {
  readonly ids: PathIds;
  readonly parameters: PathParameters;
  /** What is wrong with the parts that are missing above; absent: nothing. */
  readonly refused?: readonly Issue[];
}

interface IdPart {
  readonly name: string;
  readonly ids: IdRule;
}

type NamedRule = IdPart | { readonly name: string; readonly rule: ParameterRule };

const none: PathParameters = {};

/**
 * Returns the check of an endpoint's paths. What it is given are the parts as the client wrote them, decoded.
 *
 * @throws Error when a part of the path has no rule
 */
export function compilePathRules(
  { path, parameters = {} }: Pick<Endpoint, 'path' | 'parameters'>,
  idRules: IdRules,
): (parts: Readonly<Record<string, string>>) => PathNames {
  const rules = Array.from(path.matchAll(/\{(\w+|\*)\}/g), ([, name = '']): NamedRule => {
    const ids = idRules.get(name);
    if (ids !== undefined) return { name, ids };
    const rule = Object.hasOwn(parameters, name) ? parameters[name] : undefined;
    if (rule === undefined)
      throw new Error(`The endpoint ${path} has no rule for {${name}}: declare it in \`parameters\`.`);
    return { name, rule };
  });
  const idParts = rules.filter((part) => 'ids' in part);
  const hasIdsOnly = idParts.length === rules.length;
  return (parts) => {
    // Nearly all paths: what came in is handed on, as every request comes through here.
    if (hasIdsOnly && accepts(idParts, parts)) return { ids: parts, parameters: none };
    const ids: Record<string, ObjectId> = {};
    let others: Record<string, string> | undefined;
    let refused: Issue[] | undefined;
    for (const part of rules) {
      const text = parts[part.name] ?? '';
      if ('ids' in part) {
        const id = part.ids.parse(text);
        if (id === undefined) (refused ??= []).push(refusedId('path', text, part.ids));
        else ids[part.name] = id;
      } else if (part.rule.accepts(text)) (others ??= {})[part.name] = text;
      else (refused ??= []).push({ location: 'path', name: part.name, description: `expected ${part.rule.form}` });
    }
    return refused === undefined ? { ids, parameters: others ?? none } : { ids, parameters: others ?? none, refused };
  };
}

function accepts(rules: readonly IdPart[], parts: Readonly<Record<string, string>>): parts is PathIds {
  for (const { name, ids } of rules) if (ids.parse(parts[name] ?? '') === undefined) return false;
  return true;
}
