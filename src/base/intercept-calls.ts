/** Makes a call of a method, or something in its place, and returns its result. */
export type Intercept = (name: string | symbol, given: readonly unknown[], call: () => unknown) => unknown;

/** Returns the target with all calls of its methods intercepted, including those that later versions of its interface add. */
export function interceptCalls<T extends object>(target: T, intercept: Intercept): T {
  return new Proxy(target, {
    get(_, name): unknown {
      const method: unknown = Reflect.get(target, name, target);
      if (typeof method !== 'function') return method;
      // Only the target itself has its private fields.
      return (...given: unknown[]): unknown => intercept(name, given, () => Reflect.apply(method, target, given));
    },
  });
}
