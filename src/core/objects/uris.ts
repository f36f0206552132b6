// Object URIs: paths of objects below the version prefix. They are the keys of permissions, the parents of lists and the
// names in events. A kind declares a template such as `/buckets/{bucket_id}/groups/{group_id}`.
import type { UserId } from '../permissions/principals.ts';

declare const brand: unique symbol;

/** The URI of an object. The template of its kind makes it, or the parser accepts it, or storage has returned it. */
export type ObjectUri = string & { readonly [brand]: 'ObjectUri' };

/** A place for lists that is not an object: a folder of an object, an owner, or a place that only code uses. */
export type ListFolder = string & { readonly [brand]: 'ListFolder' };

/** Parent of lists: the URI of an object, a user for user resources, a folder, or `''` for kinds at the root. */
export type ListParent = ObjectUri | UserId | ListFolder | '';

/** Ids by their name in the template: `bucket_id`, `group_id`. */
export type UriIds = Readonly<Record<string, string>>;

export interface ObjectAddress {
  readonly kind: string;
  readonly ids: UriIds;
  readonly uri: ObjectUri;
}

/** Returns the template of a kind's objects from the path of its lists: `/buckets/{bucket_id}/groups/{group_id}`. */
export function objectTemplate(kind: string, listPath: string): string {
  return `${listPath}/{${kind}_id}`;
}

type Segment = { readonly literal: string } | { readonly idName: string };

function parseTemplate(template: string): readonly Segment[] {
  if (!template.startsWith('/')) throw new Error(`the path must start with a slash: ${template}`);
  return template
    .slice(1)
    .split('/')
    .map((text) => {
      const idName = /^\{([^{}]+)\}$/.exec(text)?.[1];
      if (idName !== undefined) return { idName };
      if (text === '' || /[{}]/.test(text)) throw new Error(`the path has a malformed segment: ${template}`);
      return { literal: text };
    });
}

/**
 * Returns a function that puts ids into the template. Compiled once, it only concatenates.
 *
 * @throws Error when the template is malformed; the returned function throws when an id is missing
 */
export function compileUriTemplate(template: string): (ids: UriIds) => string {
  const format = compileTemplate(template);
  return (ids) => {
    const uri = format(ids);
    if (uri === undefined) throw new Error(`an id is missing for ${template}`);
    return uri;
  };
}

/** Returns the function of `compileUriTemplate` for the template of a kind's objects. */
export function compileObjectUri(template: string): (ids: UriIds) => ObjectUri {
  return compileUriTemplate(template) as (ids: UriIds) => ObjectUri;
}

/** Returns the function of `compileObjectUri`, but `undefined` when an id is missing. */
export function compilePartialUri(template: string): (ids: UriIds) => ObjectUri | undefined {
  return compileTemplate(template) as (ids: UriIds) => ObjectUri | undefined;
}

/** Returns the URI of an object below another one, or below the root: `uriBelow(bucket, 'groups', 'cooks')`. */
export function uriBelow(parent: ObjectUri | '', plural: string, id: string): ObjectUri {
  return `${parent}/${plural}/${id}` as ObjectUri;
}

/** Casts a URI from storage: it was made from ids that were checked when the object was written. */
export function storedUri(uri: string): ObjectUri {
  return uri as ObjectUri;
}

/** Casts the parent of a list from storage. */
export function storedParent(parent: string): ListParent {
  return parent as ListParent;
}

/** Returns a place for lists that is not the URI of an object. */
export function listFolder(path: string): ListFolder {
  return path as ListFolder;
}

function compileTemplate(template: string): (ids: UriIds) => string | undefined {
  const literals: string[] = [''];
  const idNames: string[] = [];
  for (const segment of parseTemplate(template)) {
    if ('literal' in segment) literals[literals.length - 1] += `/${segment.literal}`;
    else {
      literals[literals.length - 1] += '/';
      idNames.push(segment.idName);
      literals.push('');
    }
  }
  return (ids) => {
    let uri = literals[0]!;
    for (let i = 0; i < idNames.length; i++) {
      const name = idNames[i]!;
      if (!Object.hasOwn(ids, name)) return undefined;
      uri += ids[name]! + literals[i + 1]!;
    }
    return uri;
  };
}

/**
 * Returns a function from a URI to kind and ids, and from any other text to `undefined`. The first matching template wins.
 *
 * @param templates kind → template of its objects
 */
export function createUriParser(
  templates: Iterable<readonly [string, string]>,
): (uri: string) => ObjectAddress | undefined {
  const byLength = new Map<number, { readonly kind: string; readonly segments: readonly Segment[] }[]>();
  for (const [kind, template] of templates) {
    const segments = parseTemplate(template);
    const sameLength = byLength.get(segments.length);
    if (sameLength === undefined) byLength.set(segments.length, [{ kind, segments }]);
    else sameLength.push({ kind, segments });
  }
  return (uri) => {
    if (!uri.startsWith('/')) return undefined;
    const parts = uri.slice(1).split('/');
    for (const { kind, segments } of byLength.get(parts.length) ?? []) {
      const ids = matchSegments(segments, parts);
      if (ids !== undefined) return { kind, ids, uri: storedUri(uri) };
    }
    return undefined;
  };
}

function matchSegments(segments: readonly Segment[], parts: readonly string[]): UriIds | undefined {
  const ids: [string, string][] = [];
  for (let i = 0; i < segments.length; i++) {
    const segment = segments[i]!;
    const part = parts[i]!;
    if ('literal' in segment) {
      if (segment.literal !== part) return undefined;
    } else if (part === '') return undefined;
    else ids.push([segment.idName, part]);
  }
  return Object.fromEntries(ids);
}
