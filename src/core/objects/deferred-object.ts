// Objects whose long texts are left in the database until they are used. A text that is replaced is often never used.
import { StoredObject } from './stored.ts';

export class DeferredObject extends StoredObject {
  readonly #maxChars: number;
  #read: (() => string) | undefined;
  #text: string | undefined;

  /** @param maxChars upper limit of the length of the text */
  constructor(id: string, lastModified: number, maxChars: number, read: () => string) {
    super(id, lastModified, '');
    this.#maxChars = maxChars;
    this.#read = read;
    // In place of the property of the class, which is faster than an accessor for all other objects.
    Object.defineProperty(this, 'text', { enumerable: true, get: () => this.#load() });
  }

  override get chars(): number {
    return this.#text?.length ?? this.#maxChars;
  }

  override get isDeferred(): boolean {
    return this.#text === undefined;
  }

  /** Ends the time in which the text can be read, since the object is about to change. */
  expire(): void {
    this.#read = undefined;
  }

  #load(): string {
    if (this.#text !== undefined) return this.#text;
    if (this.#read === undefined)
      throw new Error(`the text of ${this.id} was deferred, and not used before it changed`);
    return (this.#text = this.#read());
  }
}
