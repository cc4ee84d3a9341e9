// What Metal 4 adds: tensors, and operations on them.
#pragma once

#include "extended_vec.h"
#include "tensor.h"
#include "tensor_convolution.h"
#include "tensor_entry.h"
#include "tensor_ops.h"
#include "tensor_scopes.h"
