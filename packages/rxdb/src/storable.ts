// Values that JSON does not have. The service would store something else in their place.

/** Returns what is wrong with the first value that cannot be stored, and what to do; `undefined` if all can. */
export function describeUnstorable(value: unknown, path = ''): string | undefined {
  const found = (what: string, form = 'null'): string =>
    `"${path}" is ${what}, which JSON does not have. Store ${form}, or translate it in push.modifier.`;
  switch (typeof value) {
    case 'number':
      return Number.isFinite(value) ? undefined : found(String(value));
    case 'bigint':
      return found('a BigInt', 'its digits as a text');
    case 'string':
    case 'boolean':
      return undefined;
    case 'object':
      break;
    default:
      return found(`of the type ${typeof value}`);
  }
  if (value === null) return undefined;
  if (value instanceof Date) return found('a Date', 'the text of toISOString()');
  const isArray = Array.isArray(value);
  const prototype: unknown = Object.getPrototypeOf(value);
  if (!isArray && prototype !== null && prototype !== Object.prototype) {
    return found(`an object of the class ${value.constructor.name}`, 'plain objects and arrays');
  }
  for (const [name, item] of Object.entries(value)) {
    // Members that are undefined are left out. Items cannot be.
    if (item === undefined && !isArray) continue;
    const fault = describeUnstorable(item, isArray ? `${path}[${name}]` : (path && `${path}.${name}`) || name);
    if (fault !== undefined) return fault;
  }
  return undefined;
}
