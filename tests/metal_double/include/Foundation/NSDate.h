#pragma once

typedef double NSTimeInterval;
