// Live updates of a list as its verb sees them: what serves `_live`.
import type { ListParameters } from '../core/query/parameters.ts';
import type { ListAccess } from './access.ts';
import type { ServiceResponse } from './exchange.ts';
import type { Scope } from './scope.ts';

export interface LiveLists {
  /**
   * Responds with a stream of the changes of the list.
   *
   * @param access of the caller to the list, which was just checked
   * @throws ServiceError invalidParameters, changesForgotten, overloaded
   */
  follow(scope: Scope, access: ListAccess, parameters: ListParameters): Promise<ServiceResponse>;

  /**
   * Responds with the page as soon as it has entries, or when the time to wait is over.
   *
   * @param page read just now, without entries
   * @param read reads the page again
   * @throws ServiceError overloaded
   */
  wait(
    scope: Scope,
    parameters: ListParameters,
    page: ServiceResponse,
    read: (scope: Scope) => Promise<ServiceResponse>,
  ): ServiceResponse;
}

/** Body of a page without entries. */
export const emptyPageBody = '{"data":[]}';
