// How the plugin says no.
import { ServiceError } from '../../core/errors.ts';

/** The request asks for something that does not fit. */
export function invalid(message: string): ServiceError {
  return new ServiceError('invalidPostedData', { message });
}

/** The caller may not do it, or nobody may. */
export function forbidden(message: string): ServiceError {
  return new ServiceError('forbidden', { message });
}
