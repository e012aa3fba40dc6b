/**
 * An object of methods with fields that are worked out whenever they are read. Accessors of its own would make the engine keep
 * each such object as a dictionary, and look every method up by its name: a third of what a balancer takes to pick. So all objects
 * share one accessor for fields of the same name, which asks the object itself.
 */
export function withGetters<T extends object, Field extends keyof T & string>(
  methods: Omit<T, Field>,
  getters: { readonly [Name in Field]: () => T[Name] },
): T {
  Object.defineProperty(methods, GETTERS, { value: getters });
  for (const name of Object.keys(getters)) {
    Object.defineProperty(methods, name, { get: accessorOf(name), enumerable: true, configurable: true });
  }
  return methods as T;
}

const GETTERS = Symbol('getters');

type WithGetters = { readonly [GETTERS]: Readonly<Record<string, () => unknown>> };
type Accessor = (this: WithGetters) => unknown;

const accessors = /* @__PURE__ */ new Map<string, Accessor>();

function accessorOf(name: string): Accessor {
  const known = accessors.get(name);
  if (known) return known;
  function read(this: WithGetters): unknown {
    return this[GETTERS][name]?.();
  }
  accessors.set(name, read);
  return read;
}
