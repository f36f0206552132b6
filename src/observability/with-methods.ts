// An object with some of its methods replaced. Everything else, also what later versions of its interface add, is still
// its own: what a wrapper does not know of must not get lost.

/** The target as it is, but for what `own` has. */
export function withMethods<T extends object>(target: T, own: Partial<T>): T {
  return new Proxy(target, {
    get(_, key): unknown {
      if (Object.hasOwn(own, key)) return own[key as keyof T];
      const value: unknown = Reflect.get(target, key, target);
      // Private fields are found in the target only.
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}
