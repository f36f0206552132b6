// Rules for the variable segments of paths. Each is checked once, before any other code uses it.
import type { Issue } from '../core/errors.ts';
import type { IdRule, ObjectId, PathIds } from '../core/objects/object-id.ts';
import type { PathParameters } from '../engine/context.ts';
import type { Endpoint, ParameterRule } from '../engine/endpoint.ts';
import { refusedId } from '../engine/scope.ts';

/** Id rules of kinds by the name of the id in paths, such as `bucket_id`. */
export type IdRules = ReadonlyMap<string, IdRule>;

/** Accepted variable segments of a path. */
export interface PathNames {
  readonly ids: PathIds;
  readonly parameters: PathParameters;
  /** Issues of the refused segments; absent for none. */
  readonly refused?: readonly Issue[];
}

interface IdPart {
  readonly name: string;
  readonly ids: IdRule;
}

type NamedRule = IdPart | { readonly name: string; readonly rule: ParameterRule };

const none: PathParameters = {};

/**
 * Returns the check of an endpoint's paths. It takes the decoded segments as sent.
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
    // Fast path for nearly all requests: returns the input.
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
