/* SPDX-License-Identifier: Apache-2.0
 *
 * The shared library's own object: everything else comes whole from the archives. */
typedef int gs_library_has_no_code_of_its_own;
